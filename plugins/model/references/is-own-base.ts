/** Whether the base of a literal reference means this server. The base of a relative reference is empty. */
import type { OwnUrl } from '../../../kernel/index.ts'

export const isOwnBase = (base: string, ownUrl: OwnUrl | undefined): boolean => base === '' || base === ownUrl
