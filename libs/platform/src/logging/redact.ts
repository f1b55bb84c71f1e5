const ADDRESS = /[^\s<>"',;:()]+@[^\s<>"',;:()]+/g;
const API_KEY = /mw_(live|test)_\w+/g;

/** A text without e-mail addresses and API keys, fit for a log line or an error column. */
export function redact(text: string): string {
  return text.replace(ADDRESS, '[address]').replace(API_KEY, 'mw_$1_[key]');
}

/** What went wrong, in one line without personal data. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return redact(text).slice(0, 500);
}
