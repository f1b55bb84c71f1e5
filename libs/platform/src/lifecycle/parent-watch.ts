/**
 * Calls `onParentGone` once when the program that started this one over an IPC channel is gone, however it
 * ended, so that a killed launcher leaves no orphans. Does nothing without such a channel.
 */
export function watchParent(onParentGone: () => void): void {
  if (process.send === undefined) return;
  if (process.connected) process.once('disconnect', onParentGone);
  else onParentGone();
}
