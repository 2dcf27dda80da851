/** Ids of jobs: 32 hexadecimal digits in lower case, as they are parts of URLs and names of folders. */
import type { Random } from '../../kernel/index.ts'

const JOB_ID = /^[0-9a-f]{32}$/

export const isJobId = (text: string): boolean => JOB_ID.test(text)

export const newJobId = (random: Random): string => random.id().replaceAll('-', '').toLowerCase()
