/** So many of what has a plural in s: `1 mail`, `2 mails`. */
export function counted(count: number | bigint, noun: string): string {
  return `${count} ${noun}${Number(count) === 1 ? '' : 's'}`;
}
