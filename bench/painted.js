// In the page: how long it takes from a click, or a change of address, until another month is painted.
// `begin()` before it; `painted` is then the milliseconds until its first events were seen, and until all of them were.
globalThis.begin = () => {
  const title = () => document.querySelector('h1')?.textContent;
  const before = title();
  const { promise, resolve } = Promise.withResolvers();
  globalThis.painted = promise;
  let startedAt = 0;
  const start = (event) => {
    startedAt = event.timeStamp;
  };
  addEventListener('click', start, { capture: true, once: true });
  addEventListener('hashchange', start, { capture: true, once: true });
  let first = 0;
  const look = () => {
    const isOther = startedAt > 0 && title() !== before;
    const hasEvents = isOther && document.querySelector('.board .ec-event') !== null;
    const isWhole = hasEvents && document.querySelector('.calendar').dataset.shown !== '';
    const { port1, port2 } = new MessageChannel();
    // Sent in a frame, a message arrives when that frame has been painted.
    port1.onmessage = () => {
      const elapsed = performance.now() - startedAt;
      if (first === 0 && hasEvents) first = elapsed;
      if (isWhole) resolve([first, elapsed]);
      else requestAnimationFrame(look);
    };
    port2.postMessage(undefined);
  };
  requestAnimationFrame(look);
};
