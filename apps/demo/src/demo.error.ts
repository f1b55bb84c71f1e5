/** The demo cannot start; the message tells the user what to do. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}
