// A viewer's terminal gets the size of the window that it shows, and is shrunk to the browser's.
let cells = null, wanted = null;
function fitWindow() {
  const element = document.getElementById("terminal");
  if (!cells || !wanted || !element) return;
  if (cells.width !== wanted.width || cells.height !== wanted.height) {
    const box = element.getBoundingClientRect(), scale = element.dataset.scale || 1;
    element.style.width = Math.ceil((box.width / scale / cells.width) * wanted.width + 2) + "px";
    element.style.height = Math.ceil((box.height / scale / cells.height) * wanted.height + 2) + "px";
    window.onresize();
  }
  const shrink = Math.min(1, innerWidth / element.offsetWidth, innerHeight / element.offsetHeight);
  element.dataset.scale = shrink;
  element.style.transform = "scale(" + shrink + ")";
}
window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(url);
    this.addEventListener("message", (event) => {
      if (typeof event.data !== "string") return;
      const [kind, size] = JSON.parse(event.data);
      if (kind === "window_size") { wanted = size; setTimeout(fitWindow); }
    });
  }
  send(text) {
    const [kind, size] = JSON.parse(text);
    if (kind === "resize") { cells = size; setTimeout(fitWindow); }
    if (kind === "ping") super.send(text);
  }
};
addEventListener("resize", () => setTimeout(fitWindow));
