/** What one can wait for, and of what: the id of a topic or segment, or the name of an event. */
export interface AwaitedTrigger {
  readonly kind: 'SUBSCRIBED' | 'SEGMENT_ENTERED' | 'SEGMENT_LEFT' | 'CUSTOM_EVENT';
  readonly subject: string;
}
