/** The texts of a body, with their paths behind `body`. */
export function bodyTexts(body: unknown, path = ''): readonly (readonly [path: string, text: string])[] {
  if (typeof body === 'string') return [[path, body]];
  if (Array.isArray(body))
    return body.flatMap((item: unknown, index) => bodyTexts(item, `${path}[${index}]`));
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) => bodyTexts(value, `${path}.${name}`));
}
