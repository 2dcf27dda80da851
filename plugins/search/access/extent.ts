/**
 * Returns what a ruling lets a caller do with a type, without looking at data: all, some or none. For Binary it is at
 * most `some` while another type is restricted, because access to a Binary depends on its security context.
 */
import type { Right, Ruling } from '../../../kernel/index.ts'

export const extent = (ruling: Ruling, type: string, right: Right): ReturnType<Ruling['extent']> => {
  const found = ruling.extent(type, right)
  return type === 'Binary' && found === 'all' && !ruling.covers(['r']) ? 'some' : found
}
