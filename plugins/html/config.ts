/** Settings of [html]. */
import { Type } from '../../kernel/index.ts'

export const htmlSection = Type.Object({
  enabled: Type.Boolean({
    default: true,
    description: 'Shows answers as pages to browsers, which prefer text/html, and where _format=html asks for it.',
  }),
})
