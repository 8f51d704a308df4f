const utf8Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/**
 * Parses JSON in UTF-8, in linear time at any depth. A key `__proto__` is rejected to prevent prototype pollution.
 *
 * @throws SyntaxError for invalid JSON or a key `__proto__`, TypeError for invalid UTF-8
 */
export function parseJson(bytes: Uint8Array): unknown {
  const value: unknown = JSON.parse(utf8Decoder.decode(bytes));
  const pendingContainers = isJsonContainer(value) ? [value] : [];
  for (
    let nextContainer = pendingContainers.pop();
    nextContainer !== undefined;
    nextContainer = pendingContainers.pop()
  )
    pushChildContainers(nextContainer, pendingContainers);
  return value;
}

function pushChildContainers(container: JsonContainer, pendingContainers: JsonContainer[]): void {
  if (Array.isArray(container)) {
    for (const value of container) if (isJsonContainer(value)) pendingContainers.push(value);
    return;
  }
  if (Object.hasOwn(container, '__proto__')) throw new SyntaxError('The JSON has a key __proto__.');
  // `for in` visits own keys only: objects from `JSON.parse` inherit no enumerable properties.
  for (const key in container) {
    const value = container[key];
    if (isJsonContainer(value)) pendingContainers.push(value);
  }
}

type JsonContainer = unknown[] | Record<string, unknown>;

const isJsonContainer = (value: unknown): value is JsonContainer => typeof value === 'object' && value !== null;
