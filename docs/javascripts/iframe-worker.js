// Pages opened from the disk may not start web workers, on which the site's search runs. There an invisible frame takes
// the worker's place: same messages, same importScripts, nothing from the network.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      const load = (path) =>
        new Promise((resolve, reject) => {
          const script = inner.document.createElement("script");
          script.src = new URL(path, document.baseURI);
          script.onload = resolve;
          script.onerror = () => reject(new Error(`cannot load ${path}`));
          inner.document.body.append(script);
        });
      inner.importScripts = (...paths) => paths.reduce((before, path) => before.then(() => load(path)), Promise.resolve());
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(address);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
