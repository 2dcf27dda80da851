/** Settings of metering. Spec: [metering]. */
import { Type } from 'typebox'

export const meteringSection = Type.Object({
  enabled: Type.Boolean({
    default: true,
    description: 'Counts requests and bytes per client, UTC day and class of request.',
  }),
})
