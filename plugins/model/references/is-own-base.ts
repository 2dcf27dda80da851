/** Whether the base of a literal reference is this server: of a relative one it is empty. */
import type { OwnUrl } from '../../../kernel/index.ts'

export const isOwnBase = (base: string, ownUrl: OwnUrl | undefined): boolean => base === '' || base === ownUrl
