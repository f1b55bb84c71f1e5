/** Which part of a list is asked for: `page` counts from zero, `size` is 1–100. */
export interface PageRequest {
  readonly page: number;
  readonly size: number;
}

/** One page of a list and how long the whole list is. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly totalElements: number;
}
