import type { Pagination } from './page.js';

/** The `Link` header (RFC 8288) of a page: its neighbours, with all other query parameters as they were sent. */
export function linkHeader(
  publicUrl: string,
  requestTarget: string,
  { page, hasNext, hasPrevious }: Pagination,
): string {
  const target = new URL(requestTarget, publicUrl);
  const links: string[] = [];
  const add = (relation: string, neighbour: number): void => {
    const query = new URLSearchParams(target.search);
    query.set('page', String(neighbour));
    links.push(`<${publicUrl}${target.pathname}?${query.toString()}>; rel="${relation}"`);
  };
  if (hasPrevious) add('prev', page - 1);
  if (hasNext) add('next', page + 1);
  return links.join(', ');
}

/** Whether an answer is a page of a list. */
export function isPage(answer: unknown): answer is { readonly pagination: Pagination } {
  if (typeof answer !== 'object' || answer === null || !('pagination' in answer)) return false;
  const { pagination } = answer;
  return typeof pagination === 'object' && pagination !== null && 'hasNext' in pagination;
}
