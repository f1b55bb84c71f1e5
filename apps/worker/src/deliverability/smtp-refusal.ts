/** How smtp-server is told what to answer. */
export type Answer = (error?: Error | null, reply?: string) => void;

/** Refuses with a basic code, and a text that begins with the enhanced one. */
export function refuse(done: Answer, code: number, text: string): void {
  done(Object.assign(new Error(text), { responseCode: code }));
}
