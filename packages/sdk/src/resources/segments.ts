import type { Answer, Body, Item } from '../operations.js';
import type { List } from '../pages.js';
import type { CallOptions } from '../transport.js';
import { type Filters, Resource } from './resource.js';

export class Segments extends Resource {
  all(filters: Filters<'listSegments'> = {}): List<Item<'listSegments'>> {
    return this.listOf('listSegments', filters);
  }

  create(body: Body<'createSegment'>, options?: CallOptions): Promise<Answer<'createSegment'>> {
    return this.transport.call('createSegment', { ...options, json: body });
  }

  preview(body: Body<'previewSegment'>, options?: CallOptions): Promise<Answer<'previewSegment'>> {
    return this.transport.call('previewSegment', { ...options, json: body });
  }

  get(segmentId: string, options?: CallOptions): Promise<Answer<'getSegment'>> {
    return this.transport.call('getSegment', { ...options, path: { segmentId } });
  }

  update(
    segmentId: string,
    body: Body<'updateSegment'>,
    options?: CallOptions,
  ): Promise<Answer<'updateSegment'>> {
    return this.transport.call('updateSegment', { ...options, path: { segmentId }, json: body });
  }

  delete(segmentId: string, options?: CallOptions): Promise<Answer<'deleteSegment'>> {
    return this.transport.call('deleteSegment', { ...options, path: { segmentId } });
  }

  members(segmentId: string, filters: Filters<'listSegmentMembers'> = {}): List<Item<'listSegmentMembers'>> {
    return this.listOf('listSegmentMembers', filters, { segmentId });
  }

  addMembers(
    segmentId: string,
    body: Body<'addSegmentMembers'>,
    options?: CallOptions,
  ): Promise<Answer<'addSegmentMembers'>> {
    return this.transport.call('addSegmentMembers', { ...options, path: { segmentId }, json: body });
  }

  removeMembers(
    segmentId: string,
    body: Body<'removeSegmentMembers'>,
    options?: CallOptions,
  ): Promise<Answer<'removeSegmentMembers'>> {
    return this.transport.call('removeSegmentMembers', { ...options, path: { segmentId }, json: body });
  }
}
