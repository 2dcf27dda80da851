/** What the threads of other plugins may import from storage. */
export { decompressBody } from './body/body.ts'
