"""Our own lists of words and relations, from which the bundled diagnostic items are made."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ABBREVIATIONS",
    "BRANDS",
    "FINDINGS",
    "FUNCTION_WORDS",
    "INDICATIONS",
    "PAIRED_ORGANS",
    "PRESENTATIONS",
]

_CLOSED_CLASS: Final = """
    a about above after again against all also am an and any are as at be because been before being below between both but by
    can could did do does doing down during each few for from further had has have having he her here hers him his how i if in
    into is it its itself just may me might more most must my of off on once only or other our out over own same shall she
    should so some such than that the their theirs them then there these they this those through to too under until up upon
    us very was we were what when where which while who whom why will with within would you your
"""
#: Words whose removal should leave most of a sentence's meaning, in lower case. "no" and "not" are left out, because a sentence
#: without them says the opposite.
FUNCTION_WORDS: Final = frozenset(_CLOSED_CLASS.split())

#: Abbreviation in clinical notes -> what it stands for.
ABBREVIATIONS: Final = {
    "HTN": "hypertension",
    "DM": "diabetes mellitus",
    "CAD": "coronary artery disease",
    "CHF": "congestive heart failure",
    "COPD": "chronic obstructive pulmonary disease",
    "CKD": "chronic kidney disease",
    "ESRD": "end stage renal disease",
    "GERD": "gastroesophageal reflux disease",
    "UTI": "urinary tract infection",
    "DVT": "deep vein thrombosis",
    "PE": "pulmonary embolism",
    "MI": "myocardial infarction",
    "CVA": "stroke",
    "TIA": "transient ischemic attack",
    "AF": "atrial fibrillation",
    "PVD": "peripheral vascular disease",
    "OSA": "obstructive sleep apnea",
    "BPH": "benign prostatic hyperplasia",
    "RA": "rheumatoid arthritis",
    "OA": "osteoarthritis",
    "MS": "multiple sclerosis",
    "TB": "tuberculosis",
    "HLD": "hyperlipidemia",
    "IBS": "irritable bowel syndrome",
    "SBO": "small bowel obstruction",
    "ARDS": "acute respiratory distress syndrome",
    "AKI": "acute kidney injury",
    "SLE": "systemic lupus erythematosus",
    "PNA": "pneumonia",
    "URI": "upper respiratory infection",
    "LBP": "low back pain",
    "SOB": "shortness of breath",
    "HA": "headache",
    "N/V": "nausea and vomiting",
    "AMS": "altered mental status",
    "LOC": "loss of consciousness",
}

#: Drug -> (the disease it is taken for, the class it belongs to).
INDICATIONS: Final = {
    "metformin": ("diabetes", "a biguanide"),
    "insulin glargine": ("diabetes", "a long-acting insulin"),
    "lisinopril": ("high blood pressure", "an ACE inhibitor"),
    "amlodipine": ("high blood pressure", "a calcium channel blocker"),
    "losartan": ("high blood pressure", "an angiotensin receptor blocker"),
    "atorvastatin": ("high cholesterol", "a statin"),
    "levothyroxine": ("hypothyroidism", "a thyroid hormone"),
    "albuterol": ("asthma", "a bronchodilator"),
    "warfarin": ("a clotting disorder", "an anticoagulant"),
    "apixaban": ("a clotting disorder", "an anticoagulant"),
    "omeprazole": ("acid reflux", "a proton pump inhibitor"),
    "sertraline": ("depression", "an antidepressant"),
    "lithium": ("bipolar disorder", "a mood stabilizer"),
    "haloperidol": ("psychosis", "an antipsychotic"),
    "donepezil": ("dementia", "a cholinesterase inhibitor"),
    "levodopa": ("Parkinson's disease", "a dopamine precursor"),
    "levetiracetam": ("seizures", "an anticonvulsant"),
    "sumatriptan": ("migraine", "a triptan"),
    "allopurinol": ("gout", "a xanthine oxidase inhibitor"),
    "methotrexate": ("rheumatoid arthritis", "an antimetabolite"),
    "tamoxifen": ("breast cancer", "an estrogen receptor modulator"),
    "tamsulosin": ("an enlarged prostate", "an alpha blocker"),
    "alendronate": ("osteoporosis", "a bisphosphonate"),
    "furosemide": ("heart failure", "a loop diuretic"),
    "nitroglycerin": ("angina", "a nitrate"),
    "zidovudine": ("HIV infection", "an antiretroviral"),
    "isoniazid": ("tuberculosis", "an antibiotic"),
    "naloxone": ("an opioid overdose", "an opioid antagonist"),
}

#: Brand name -> the drug in it.
BRANDS: Final = {
    "Tylenol": "acetaminophen",
    "Advil": "ibuprofen",
    "Lipitor": "atorvastatin",
    "Coumadin": "warfarin",
    "Lasix": "furosemide",
    "Zoloft": "sertraline",
    "Prozac": "fluoxetine",
    "Norvasc": "amlodipine",
    "Plavix": "clopidogrel",
    "Synthroid": "levothyroxine",
    "Glucophage": "metformin",
    "Prilosec": "omeprazole",
    "Keppra": "levetiracetam",
    "Ativan": "lorazepam",
    "Valium": "diazepam",
    "Ambien": "zolpidem",
    "Lopressor": "metoprolol",
    "Cozaar": "losartan",
    "Zofran": "ondansetron",
    "Flomax": "tamsulosin",
}

#: Disease -> how it shows itself.
PRESENTATIONS: Final = {
    "angina": "chest tightness on climbing stairs that goes away with rest",
    "a urinary tract infection": "burning on urination and a need to urinate often",
    "appendicitis": "pain that moved to the right lower abdomen with rebound tenderness",
    "pneumonia": "fever, a productive cough and crackles at the right lung base",
    "meningitis": "fever, a stiff neck and discomfort in bright light",
    "a deep vein thrombosis": "a swollen, warm and tender left calf after a long flight",
    "gout": "sudden redness and severe pain of the big toe",
    "a stroke": "sudden weakness of the right arm and slurred speech",
    "heart failure": "swollen legs and breathlessness when lying flat",
    "hyperthyroidism": "weight loss, heat intolerance and a fine tremor",
    "hypothyroidism": "weight gain, cold intolerance and dry skin",
    "anemia": "pallor, fatigue and a hemoglobin of 7.1",
    "asthma": "episodes of wheezing that improve with an inhaler",
    "liver cirrhosis": "jaundice, ascites and spider angiomas",
    "kidney stones": "colicky flank pain and blood in the urine",
    "diabetes": "excessive thirst and a fasting glucose of 240",
    "Parkinson's disease": "a resting tremor and a shuffling gait",
    "a migraine": "throbbing pain on one side of the head with nausea",
    "dehydration": "dry mucous membranes and poor skin turgor",
    "an allergic reaction": "hives and swelling of the lips after eating peanuts",
}

#: Findings that a note affirms or denies.
FINDINGS: Final = (
    "chest pain",
    "fever",
    "shortness of breath",
    "nausea",
    "abdominal pain",
    "weight loss",
    "a cough",
    "dizziness",
    "blurred vision",
    "night sweats",
    "a skin rash",
    "palpitations",
    "leg swelling",
    "a sore throat",
    "joint stiffness",
)

#: Organs and limbs that have a side.
PAIRED_ORGANS: Final = (
    "lung", "kidney", "breast", "knee", "hip", "shoulder", "eye", "ear", "arm", "leg", "ankle", "wrist", "ovary", "lower lobe",
)  # fmt: skip
