/** The database of the lease in a simulation: the row, the lock, and the commits that passed the fence. */
import type { LeaseRow } from '../../plugins/database/lease/lease-port.ts'

export interface LeaseSession {
  readonly owner: number
  isOpen: boolean
}

export const createLeaseDatabase = () => {
  const row: { -readonly [Key in keyof LeaseRow]: LeaseRow[Key] } = {
    epoch: 0,
    beat: 0,
    isReleased: true,
    server: '',
    host: '',
    boot: '',
    pid: 0,
    build: '',
  }
  const commits: { readonly epoch: number; readonly writer: number }[] = []
  return { row, commits, lock: undefined as LeaseSession | undefined }
}
export type LeaseDatabase = ReturnType<typeof createLeaseDatabase>

/** What is wrong with the order of commits: each epoch has one writer, and none follows one of a later epoch. */
export const wrongCommits = ({ commits }: LeaseDatabase): readonly string[] => {
  const writers = new Map<number, number>()
  const wrong: string[] = []
  let newest = 0
  for (const { epoch, writer } of commits) {
    if (epoch < newest) wrong.push(`a commit of epoch ${epoch} follows one of ${newest}`)
    if ((writers.get(epoch) ?? writer) !== writer) wrong.push(`epoch ${epoch} has two writers`)
    writers.set(epoch, writer)
    newest = Math.max(newest, epoch)
  }
  return wrong
}
