/** Where JSON has a member that stands for an object's prototype in JavaScript, as dotted paths; empty: nowhere. */
export function prototypeMembers(json: unknown): string[] {
  const found: string[] = [];
  const open: { readonly value: unknown; readonly path: string }[] = [{ value: json, path: '' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      const at = pathOf(path, name, Array.isArray(value));
      if (isPrototype(name, inner)) found.push(at);
      else open.push({ value: inner, path: at });
    }
  }
  return found;
}

function isPrototype(name: string, value: unknown): boolean {
  if (name === '__proto__') return true;
  const isObject = typeof value === 'object' && value !== null;
  return name === 'constructor' && isObject && Object.hasOwn(value, 'prototype');
}

function pathOf(parent: string, name: string, isIndex: boolean): string {
  if (isIndex) return `${parent}[${name}]`;
  return parent === '' ? name : `${parent}.${name}`;
}
