import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { DestinationPace } from './destination-pace.service.js';
import { WarmUpPace } from './warm-up-pace.service.js';

/** What keeps mail from going faster than is good for it. */
@Injectable()
export class DeliveryPacing {
  constructor(
    @Inject(DestinationPace) readonly pace: DestinationPace,
    @Inject(WarmUpPace) readonly warmUp: WarmUpPace,
    @Inject(Clock) readonly clock: Clock,
  ) {}
}
