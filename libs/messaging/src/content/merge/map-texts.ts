type TextMap = (text: string, path: string) => string;

/** The body with each of its texts replaced by what `map` returns for it and its path behind `body`. */
export function mapTexts(body: unknown, map: TextMap, path = ''): unknown {
  if (typeof body === 'string') return map(body, path);
  if (Array.isArray(body))
    return body.map((item: unknown, index) => mapTexts(item, map, `${path}[${index}]`));
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, mapTexts(value, map, `${path}.${name}`)]),
  );
}
