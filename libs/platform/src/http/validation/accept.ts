/** Whether an `Accept` header admits `mediaType` (RFC 9110 §12.5.1). No header, or one without a media range, admits all. */
export function accepts(header: string | undefined, mediaType: string): boolean {
  const ranges = (header ?? '').split(',').flatMap(parseRange);
  if (ranges.length === 0) return true;
  const [type] = mediaType.split('/');
  // The most specific range that fits decides.
  for (const candidate of [mediaType, `${type}/*`, '*/*']) {
    const fitting = ranges.filter((range) => range.name === candidate);
    if (fitting.length > 0) return fitting.some(({ quality }) => quality > 0);
  }
  return false;
}

function parseRange(text: string): { name: string; quality: number }[] {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  if (!name.includes('/')) return [];
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  const quality = weight === undefined ? 1 : Number(weight);
  return [{ name, quality: Number.isNaN(quality) ? 1 : quality }];
}
