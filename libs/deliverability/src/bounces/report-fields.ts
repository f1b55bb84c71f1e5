/** Fields by their names in lower case; the first of a name counts. */
export type Fields = ReadonlyMap<string, string>;

const MAX_GROUPS = 50;
const MAX_FIELDS = 200;
const MAX_VALUE = 4_000;

/** The groups of fields of a report, which empty lines part (RFC 3464 §2.1). */
export function fieldGroupsOf(text: string): Fields[] {
  return text
    .split(/\r?\n[\t ]*\r?\n/, MAX_GROUPS)
    .map(fieldsOf)
    .filter((fields) => fields.size > 0);
}

/** The fields of one group; lines that begin with white space go on the one before (RFC 5322 §2.2.3). */
export function fieldsOf(text: string): Fields {
  const fields = new Map<string, string>();
  let current = '';
  for (const line of text.split(/\r?\n/, MAX_FIELDS)) {
    const [, name, value] = /^([!-9;-~]{1,100}):(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) {
      current = fields.has(name.toLowerCase()) ? '' : name.toLowerCase();
      if (current !== '') fields.set(current, value.trim().slice(0, MAX_VALUE));
    } else if (current !== '' && /^[\t ]/.test(line)) {
      const longer = `${fields.get(current) ?? ''} ${line.trim()}`.trim();
      fields.set(current, longer.slice(0, MAX_VALUE));
    }
  }
  return fields;
}

/** The fields before the first empty line. */
export function headerFieldsOf(message: string): Fields {
  return fieldsOf(message.split(/\r?\n[\t ]*\r?\n/, 1)[0] ?? '');
}
