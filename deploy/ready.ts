// Whether the service on this machine's CARILLON_PORT is ready: exit code 0 when /readyz answers 200. Asks once, or for
// as many seconds as the first argument says. For health checks, and for a start that is to wait.
const port = process.env.CARILLON_PORT ?? '8080';
const until = performance.now() + Number(process.argv[2] ?? 0) * 1_000;

async function isReady(): Promise<boolean> {
  try {
    const { ok } = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(3_000) });
    return ok;
  } catch {
    return false;
  }
}

let ready = await isReady();
while (!ready && performance.now() < until) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  ready = await isReady();
}
process.exitCode = ready ? 0 : 1;
