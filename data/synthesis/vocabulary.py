"""The words of the sample data: concepts with the several names that clinicians, papers and patients use for them.

The names of one concept are what separates encoders on the sample: a lexical encoder sees "MI" and "heart attack" as
strangers, one that knows meaning does not. The tables are plain text because they are read and extended by people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "CELLS",
    "CONDITIONS",
    "DRUGS",
    "GENES",
    "ORGANS",
    "OUTCOMES",
    "PROCESSES",
    "SYMPTOMS",
    "Concept",
    "Condition",
    "Organ",
]


@dataclass(frozen=True)
class Concept:
    """One thing with its professional names, the usual one first, and the names that patients use."""

    formal: tuple[str, ...]
    plain: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the concept."""
        return self.formal + self.plain


@dataclass(frozen=True)
class Condition(Concept):
    """A disease with the organ it affects and what usually comes with it."""

    organ: str
    drugs: tuple[Concept, ...]
    symptoms: tuple[Concept, ...]


@dataclass(frozen=True)
class Organ:
    """What is said of an organ that is ill, and of one that is well."""

    ill: tuple[str, ...]
    well: tuple[str, ...]


def _concepts(table: str) -> dict[str, Concept]:
    """Read lines "formal / formal | plain / plain" into concepts, keyed by their first name."""
    concepts = {}
    for line in table.strip().splitlines():
        formal, _, plain = line.partition("|")
        concept = Concept(_names(formal, "/"), _names(plain, "/"))
        concepts[concept.formal[0]] = concept
    return concepts


def _names(cell: str, separator: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in cell.split(separator) if name.strip())


_DRUGS = _concepts(
    """
    aspirin / acetylsalicylic acid / ASA
    metoprolol / Lopressor | a beta blocker
    clopidogrel / Plavix
    furosemide / Lasix | water pills
    lisinopril / Zestril / ACE inhibitor
    carvedilol / Coreg / β-blocker
    warfarin / Coumadin | a blood thinner
    amiodarone / Cordarone
    amlodipine / Norvasc / calcium antagonist
    hydrochlorothiazide / HCTZ / thiazide
    atorvastatin / Lipitor / statin | the cholesterol pill
    levetiracetam / Keppra
    valproate / Depakote / valproic acid
    sumatriptan / Imitrex / triptan
    topiramate / Topamax
    levodopa / Sinemet / L-dopa
    donepezil / Aricept / cholinesterase inhibitor
    memantine / Namenda
    tiotropium / Spiriva
    salbutamol / albuterol / Ventolin | a puffer
    prednisone / corticosteroid / glucocorticoid | steroids
    budesonide / Pulmicort
    montelukast / Singulair
    azithromycin / Zithromax / macrolide
    ceftriaxone / Rocephin / cephalosporin
    heparin / UFH / anticoagulant
    apixaban / Eliquis
    isoniazid / INH
    rifampicin / rifampin
    metformin / Glucophage / biguanide | the sugar pill
    insulin / insulin glargine / Lantus
    glipizide / sulfonylurea
    levothyroxine / Synthroid / thyroxine
    methimazole / Tapazole
    erythropoietin / epoetin / EPO
    nitrofurantoin / Macrobid
    ciprofloxacin / Cipro / quinolone
    tamsulosin / Flomax / alpha-blocker
    ketorolac / Toradol / NSAID
    omeprazole / Prilosec / PPI | stomach acid pills
    ranitidine / Zantac
    amoxicillin / Amoxil
    infliximab / Remicade / anti-TNF antibody
    mesalamine / 5-ASA
    spironolactone / Aldactone
    lactulose / osmotic laxative
    sofosbuvir / Sovaldi
    ribavirin / Copegus
    methotrexate / MTX
    adalimumab / Humira
    acetaminophen / paracetamol / Tylenol
    celecoxib / Celebrex / COX-2 inhibitor
    allopurinol / Zyloprim
    colchicine / Colcrys
    alendronate / Fosamax / bisphosphonate
    denosumab / Prolia
    tamoxifen / Nolvadex
    trastuzumab / Herceptin
    cisplatin / CDDP / platinum agent | chemo
    erlotinib / Tarceva / EGFR inhibitor
    imatinib / Gleevec / kinase inhibitor
    sertraline / Zoloft / SSRI | an antidepressant
    fluoxetine / Prozac
    olanzapine / Zyprexa
    risperidone / Risperdal / antipsychotic
    ferrous sulfate / oral iron | iron tablets
    vancomycin / Vanco
    clindamycin / Cleocin
    calcipotriol / vitamin D analogue
    tacrolimus / Protopic
    oseltamivir / Tamiflu
    artesunate / artemisinin
    """
)

_SYMPTOMS = _concepts(
    """
    chest pain / angina / substernal pressure | tightness in the chest
    dyspnea / SOB / shortness of breath | trouble breathing
    edema / peripheral edema / pitting edema | swollen legs
    palpitations / tachycardia | a racing heart
    syncope / loss of consciousness / LOC | passing out
    headache / cephalgia / HA | head pain
    dizziness / vertigo / lightheadedness | the room spinning
    hemiparesis / unilateral weakness | weakness on one side
    dysarthria / slurred speech | trouble talking
    seizures / convulsions / tonic-clonic activity | fits
    nausea / emesis / N/V | throwing up
    photophobia / light sensitivity | light hurting the eyes
    tremor / shaking of the hands | shaky hands
    confusion / altered mental status / AMS | being muddled
    cough / productive cough | coughing
    wheezing / bronchospasm | a whistling chest
    fever / pyrexia / temperature of 39 °C | running hot
    night sweats / diaphoresis | sweating at night
    polyuria / urinary frequency | peeing a lot
    fatigue / lethargy / malaise | feeling tired
    constipation / obstipation | not being able to go
    dysuria / painful urination | burning when peeing
    flank pain / costovertebral tenderness | pain in the side
    hematuria / blood in the urine | red urine
    abdominal pain / epigastric tenderness | belly pain
    melena / GI bleeding / tarry stools | black stool
    diarrhea / loose stools | the runs
    ascites / abdominal distension | a swollen belly
    jaundice / icterus / scleral icterus | yellow skin
    arthralgia / joint pain | aching joints
    back pain / lumbago | a sore back
    weight loss / cachexia | losing weight
    hemoptysis / blood-tinged sputum | coughing up blood
    insomnia / sleeplessness | not sleeping
    hallucinations / psychosis | hearing voices
    pallor / pale conjunctivae | looking pale
    leg swelling / calf tenderness | a swollen calf
    erythema / skin redness / a warm red area | red skin
    pruritus / itching | itchy skin
    myalgia / muscle pain | sore muscles
    rash / exanthema / papular eruption | red spots
    """
)

_OUTCOMES = _concepts(
    """
    mortality / all-cause death / case fatality | the risk of dying
    hospital admission / hospitalisation / inpatient stays | ending up in hospital
    quality of life / QoL / health-related well-being | how people feel
    pain intensity / VAS pain score / analgesic need | pain
    relapse / disease recurrence / symptomatic flare | the illness coming back
    bleeding / haemorrhage / blood loss | bleeding
    functional capacity / exercise tolerance / 6-minute walk distance | fitness
    length of stay / hospital days / time to discharge | days in hospital
    inflammation / C-reactive protein / CRP concentration | inflammation
    remission / complete response / disease clearance | getting well
    cognitive decline / loss of memory function / MMSE deterioration | forgetfulness
    body weight / BMI / adiposity | weight
    fracture / bone breakage / skeletal events | broken bones
    infection / microbial colonisation / septic complications | catching an infection
    treatment failure / non-response / therapy resistance | treatment not working
    """
)

_GENES = _concepts(
    """
    KRAS / K-Ras / mutant Ras
    TP53 / p53 / the tumour suppressor p53
    miR-21 / microRNA-21 / oncomiR-21
    EGFR / ErbB1 / the epidermal growth factor receptor
    NF-κB / nuclear factor kappa B / RelA
    TNF-alpha / tumour necrosis factor / cachectin
    IL-6 / interleukin-6 / BSF-2
    VEGF / vascular endothelial growth factor / VEGF-A
    PTEN / the phosphatase PTEN / MMAC1
    c-Myc / MYC / the Myc oncoprotein
    BRCA1 / breast cancer gene 1
    TGF-β / transforming growth factor beta
    CDK4 / cyclin-dependent kinase 4
    PI3K / phosphoinositide 3-kinase
    β-catenin / CTNNB1 / the Wnt effector catenin
    HIF-1alpha / hypoxia-inducible factor 1
    STAT3 / signal transducer and activator 3
    APOE4 / the ε4 allele of apolipoprotein E
    BCL-2 / the anti-apoptotic factor Bcl2
    LRRK2 / dardarin
    """
)

_CELLS = _concepts(
    """
    lung adenocarcinoma cells / NSCLC cells / A549 cultures
    breast cancer cells / mammary carcinoma cells / MCF-7 cultures
    hepatocytes / liver cells / HepG2 cultures
    macrophages / monocyte-derived phagocytes
    cortical neurons / nerve cells of the cortex
    T lymphocytes / T cells / CD4+ cells
    fibroblasts / stromal cells / connective tissue cells
    endothelial cells / HUVEC cultures / vessel lining cells
    cardiomyocytes / heart muscle cells
    leukaemia blasts / K562 cultures / malignant myeloid cells
    colon organoids / intestinal crypt cultures
    pancreatic β cells / insulin-secreting islet cells
    """
)

_PROCESSES = _concepts(
    """
    apoptosis / programmed cell death / caspase-dependent death
    proliferation / cell growth / mitotic expansion
    migration / cell motility / invasive behaviour
    angiogenesis / new vessel formation / neovascularisation
    autophagy / lysosomal self-digestion
    differentiation / lineage maturation
    senescence / permanent growth arrest
    glycolysis / glucose consumption / the Warburg effect
    DNA repair / double-strand break rejoining
    drug resistance / chemoresistance / loss of drug sensitivity
    cytokine release / inflammatory secretion
    oxidative stress / ROS accumulation
    """
)

ORGANS: Final[dict[str, Organ]] = {
    "heart": Organ(("cardiac disease", "a heart condition", "cardiovascular pathology"), ("a normal EKG", "a healthy heart")),
    "brain": Organ(
        ("a neurological disorder", "a disease of the nervous system"),
        ("an unremarkable brain MRI", "an intact neurological exam"),
    ),
    "lung": Organ(
        ("pulmonary disease", "a respiratory disorder", "lung trouble"), ("clear lungs on exam", "normal spirometry")
    ),
    "gland": Organ(("an endocrine disorder", "a hormonal problem"), ("normal endocrine labs", "a normal TSH and glucose")),
    "kidney": Organ(
        ("renal or urinary disease", "a kidney or bladder problem"), ("normal renal function", "a clean urinalysis")
    ),
    "gut": Organ(("a gastrointestinal disorder", "a digestive disease"), ("a benign abdomen", "a normal endoscopy")),
    "liver": Organ(("hepatic disease", "a liver problem"), ("normal LFTs", "a healthy liver")),
    "joint": Organ(
        ("a musculoskeletal disease", "a bone or joint disorder"),
        ("full range of motion in all joints", "normal joint films"),
    ),
    "tumour": Organ(("a malignancy", "cancer", "a neoplasm"), ("no sign of cancer on imaging", "negative staging scans")),
    "mind": Organ(("a psychiatric illness", "a mental health problem"), ("a stable mood", "a normal mental status exam")),
    "blood": Organ(
        ("a hematologic disorder", "a blood problem"),
        ("a normal CBC and coagulation panel", "unremarkable blood counts"),
    ),
    "infection": Organ(("an infectious disease", "an infection"), ("negative cultures", "no sign of infection")),
    "skin": Organ(("a skin disorder", "a dermatological condition"), ("intact skin", "a clear skin exam")),
}

_CONDITIONS = """
myocardial infarction / MI / cardiac infarction | heart attack
    heart | aspirin, metoprolol, clopidogrel | chest pain, dyspnea
congestive heart failure / CHF / cardiac decompensation | a weak heart
    heart | furosemide, lisinopril, carvedilol | edema, dyspnea
atrial fibrillation / AF / a-fib | an irregular heartbeat
    heart | warfarin, metoprolol, amiodarone | palpitations, syncope
hypertension / HTN / elevated arterial pressure | high blood pressure
    heart | lisinopril, amlodipine, hydrochlorothiazide | headache, dizziness
coronary artery disease / CAD / ischemic heart disease | clogged arteries
    heart | aspirin, atorvastatin | chest pain, dyspnea
cerebrovascular accident / CVA / ischemic stroke | a brain attack
    brain | clopidogrel, atorvastatin | hemiparesis, dysarthria
epilepsy / seizure disorder / convulsive disorder | falling sickness
    brain | levetiracetam, valproate | seizures, confusion
migraine / hemicrania / migrainous attacks | bad headaches
    brain | sumatriptan, topiramate | photophobia, headache
Parkinson's disease / PD / idiopathic parkinsonism | shaking palsy
    brain | levodopa, donepezil | tremor, constipation
Alzheimer's disease / AD / senile dementia | memory loss
    brain | donepezil, memantine | confusion, insomnia
Guillain-Barré syndrome / GBS / acute polyradiculoneuropathy | creeping paralysis
    brain | prednisone, heparin | hemiparesis, back pain
chronic obstructive pulmonary disease / COPD / emphysema | smoker's lung
    lung | tiotropium, salbutamol, prednisone | dyspnea, cough
asthma / reactive airway disease / bronchial hyperreactivity | twitchy airways
    lung | salbutamol, budesonide, montelukast | wheezing, cough
pneumonia / PNA / lower respiratory tract infection | a chest infection
    lung | azithromycin, ceftriaxone | fever, cough
pulmonary embolism / PE / pulmonary thromboembolism | a clot in the lung
    lung | heparin, apixaban | dyspnea, chest pain
tuberculosis / TB / mycobacterial infection | consumption
    lung | isoniazid, rifampicin | night sweats, hemoptysis
type 2 diabetes mellitus / T2DM / DM2 | high blood sugar
    gland | metformin, insulin, glipizide | polyuria, fatigue
hypothyroidism / thyroid hormone deficiency / myxedema | an underactive thyroid
    gland | levothyroxine | fatigue, constipation
hyperthyroidism / thyrotoxicosis / Graves' disease | an overactive thyroid
    gland | methimazole, metoprolol | palpitations, weight loss
chronic kidney disease / CKD / renal insufficiency | failing kidneys
    kidney | erythropoietin, furosemide | edema, fatigue
urinary tract infection / UTI / cystitis | a bladder infection
    kidney | nitrofurantoin, ciprofloxacin | dysuria, fever
nephrolithiasis / renal calculi / ureterolithiasis | kidney stones
    kidney | tamsulosin, ketorolac | flank pain, hematuria
gastroesophageal reflux disease / GERD / reflux esophagitis | acid reflux
    gut | omeprazole, ranitidine | chest pain, nausea
peptic ulcer disease / PUD / gastric ulcer | a stomach ulcer
    gut | omeprazole, amoxicillin | melena, abdominal pain
Crohn's disease / regional enteritis / inflammatory bowel disease | an inflamed bowel
    gut | infliximab, mesalamine | diarrhea, weight loss
cirrhosis / end-stage liver disease / ESLD | a scarred liver
    liver | spironolactone, lactulose | ascites, jaundice
hepatitis C / HCV infection / chronic viral hepatitis | a liver virus
    liver | sofosbuvir, ribavirin | jaundice, fatigue
rheumatoid arthritis / RA / inflammatory polyarthritis | swollen joints
    joint | methotrexate, adalimumab, prednisone | arthralgia, fatigue
osteoarthritis / OA / degenerative joint disease | worn-out joints
    joint | acetaminophen, celecoxib | arthralgia, back pain
gout / gouty arthritis / urate arthropathy | a hot swollen toe
    joint | allopurinol, colchicine | arthralgia, erythema
osteoporosis / low bone mineral density / bone demineralization | brittle bones
    joint | alendronate, denosumab | back pain, myalgia
breast cancer / mammary carcinoma / breast neoplasm | a breast tumor
    tumour | tamoxifen, trastuzumab | weight loss, fatigue
lung cancer / NSCLC / bronchogenic carcinoma | a lung tumor
    tumour | cisplatin, erlotinib | hemoptysis, weight loss
chronic myeloid leukemia / CML / myelogenous leukaemia | blood cancer
    tumour | imatinib | night sweats, pallor
major depressive disorder / MDD / unipolar depression | feeling very low
    mind | sertraline, fluoxetine | insomnia, fatigue
schizophrenia / schizoaffective illness / chronic psychotic disorder | split mind
    mind | olanzapine, risperidone | hallucinations, insomnia
iron deficiency anemia / IDA / microcytic anemia | low iron
    blood | ferrous sulfate, erythropoietin | pallor, fatigue
deep vein thrombosis / DVT / venous thrombosis | a clot in the leg
    blood | heparin, warfarin, apixaban | leg swelling, erythema
sepsis / septicemia / bacteremia | blood poisoning
    infection | vancomycin, ceftriaxone | fever, confusion
influenza / influenza A infection / grippe | the flu
    infection | oseltamivir, acetaminophen | fever, myalgia
malaria / Plasmodium infection / paludism | swamp fever
    infection | artesunate, acetaminophen | fever, jaundice
cellulitis / soft tissue infection / erysipelas | a skin infection
    skin | clindamycin, amoxicillin | erythema, fever
psoriasis / plaque psoriasis / psoriatic skin disease | scaly skin
    skin | calcipotriol, methotrexate | rash, pruritus
atopic dermatitis / eczema / neurodermatitis | dry itchy skin
    skin | tacrolimus, prednisone | pruritus, rash
"""


def _conditions(table: str) -> tuple[Condition, ...]:
    """Read entries of two lines, names and then "organ | drugs | symptoms"; an unknown drug is a KeyError."""
    rows = table.strip().splitlines()
    conditions = []
    for names, companions in zip(rows[::2], rows[1::2], strict=True):
        formal, plain = names.split("|")
        organ, drugs, symptoms = companions.split("|")
        conditions.append(
            Condition(
                formal=_names(formal, "/"),
                plain=_names(plain, "/"),
                organ=organ.strip(),
                drugs=tuple(_DRUGS[name] for name in _names(drugs, ",")),
                symptoms=tuple(_SYMPTOMS[name] for name in _names(symptoms, ",")),
            )
        )
    return tuple(conditions)


CONDITIONS: Final = _conditions(_CONDITIONS)
DRUGS: Final = tuple(_DRUGS.values())
SYMPTOMS: Final = tuple(_SYMPTOMS.values())
OUTCOMES: Final = tuple(_OUTCOMES.values())
GENES: Final = tuple(_GENES.values())
CELLS: Final = tuple(_CELLS.values())
PROCESSES: Final = tuple(_PROCESSES.values())
