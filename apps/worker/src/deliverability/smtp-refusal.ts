/** An error that tells smtp-server what to answer. */
export type Answer = (error?: Error | null, reply?: string) => void;

/** Refuses with a basic code, and a text that starts with the enhanced code. */
export function refuse(done: Answer, code: number, text: string): void {
  done(Object.assign(new Error(text), { responseCode: code }));
}
