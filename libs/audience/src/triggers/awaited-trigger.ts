/** A kind of trigger with its source: the id of a topic or segment, or the name of an event. */
export interface AwaitedTrigger {
  readonly kind: 'SUBSCRIBED' | 'SEGMENT_ENTERED' | 'SEGMENT_LEFT' | 'CUSTOM_EVENT';
  readonly subject: string;
}
