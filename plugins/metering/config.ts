/** Settings of metering. Spec: [metering]. */
import { Type } from '../../kernel/index.ts'

export const meteringSection = Type.Object({
  enabled: Type.Boolean({
    default: true,
    description: 'Counts requests and bytes per client, UTC day and class of request.',
  }),
})
