import type { z } from 'zod';

/** What the whole body is called in `errors` when it is none of its fields that is wrong. */
export const WHOLE_BODY = 'body';

/** All that is wrong: dotted field path (`options[1].value`) → message; the first message of a field counts. */
export function fieldErrors(issues: readonly z.core.$ZodIssue[], root = ''): Record<string, string> {
  const errors = new Map<string, string>();
  const add = (path: readonly PropertyKey[], message: string): void => {
    const field = fieldPath(path, root);
    if (!errors.has(field)) errors.set(field, message);
  };
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys) add([...issue.path, key], issue.message);
    else add(issue.path, issue.message);
  }
  return Object.fromEntries(errors);
}

function fieldPath(path: readonly PropertyKey[], root: string): string {
  const text = path.reduce<string>((prefix, part) => {
    if (typeof part === 'number') return `${prefix}[${part}]`;
    return prefix === '' ? String(part) : `${prefix}.${String(part)}`;
  }, root);
  return text === '' ? WHOLE_BODY : text;
}
