/**
 * What a ruling lets be told without looking at data. Of a Binary it is never all while any other type is restricted: a Binary
 * is seen only where its security context is.
 */
import type { Right, Ruling } from '../../../kernel/index.ts'

export const extent = (ruling: Ruling, type: string, right: Right): ReturnType<Ruling['extent']> => {
  const found = ruling.extent(type, right)
  return type === 'Binary' && found === 'all' && !ruling.covers(['r']) ? 'some' : found
}
