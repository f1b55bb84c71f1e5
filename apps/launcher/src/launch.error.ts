/** Mailwright cannot start; the message tells the person at the terminal why. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
}
