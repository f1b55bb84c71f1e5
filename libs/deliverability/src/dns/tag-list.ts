const TAG = /^\s*(?<name>[A-Za-z][A-Za-z0-9_]*)\s*=(?<value>.*)$/s;

/** The tags of a DKIM or DMARC record (RFC 6376 §3.2, RFC 9989 §4.7) by name, or null when it is no tag list. */
export function parseTagList(text: string): ReadonlyMap<string, string> | null {
  const tags = new Map<string, string>();
  for (const part of text.replace(/;\s*$/, '').split(';')) {
    const { name, value } = TAG.exec(part)?.groups ?? {};
    if (name === undefined || value === undefined || tags.has(name)) return null;
    tags.set(name, value.trim());
  }
  return tags;
}
