/** Why Mailwright cannot start, in words for the person at the terminal. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
}
