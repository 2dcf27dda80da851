/** Who works on a job, as the column `server` has it. */
import { isProcessGone, type OwnProcess } from '../database/service.ts'

export const toServerText = ({ server, host, boot, pid }: OwnProcess): string =>
  JSON.stringify({ server, host, boot, pid })

/** True when the process is known to be gone. False for one of another machine or container. */
export const isWorkerGone = (self: OwnProcess, text: string): boolean => {
  try {
    return isProcessGone(self)(JSON.parse(text) as OwnProcess)
  } catch {
    return false
  }
}
