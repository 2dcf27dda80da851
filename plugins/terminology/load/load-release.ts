/** What `server terminology load` does: reads a release, and puts it into the index. */
import { counted, type Output, progressLine, systemClock } from '../../../kernel/index.ts'
import { ReleaseFile } from '../errors.ts'
import type { TerminologyIndex } from '../service.ts'
import { readRelease } from './read-release.ts'
import { BATCH, type Release } from './release.ts'
import { openReleaseFiles } from './release-files.ts'

export interface LoadFlags {
  readonly paths: readonly string[]
  readonly language: string
  readonly version: string | undefined
}

/** Throws what the files are refused for. */
const read = async ({ paths, language, version }: LoadFlags, stdout: Output): Promise<Release> => {
  const { files, close } = await openReleaseFiles(paths)
  const line = progressLine(stdout, systemClock)
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let [done, rows] = [0, 0]
  try {
    const release = await readRelease(paths, files, {
      ...{ language, version },
      progress(step) {
        done += step.bytes
        rows += step.rows
        line.step({ done, total, resources: rows, unit: 'rows', label: step.file })
      },
    })
    if (release.size === 0) {
      release.close()
      throw ReleaseFile(paths.join(', '), 'there are no concepts')
    }
    for (const note of release.notes) line.say(note)
    return release
  } finally {
    line.end()
    close()
  }
}

const nameOf = ({ header: { url, version } }: Release): string => (version === undefined ? url : `${url}|${version}`)

/** Reads and says what is there. */
export const checkRelease = async (flags: LoadFlags, stdout: Output): Promise<void> => {
  const release = await read(flags, stdout)
  release.close()
  stdout.write(`${nameOf(release)}: ${counted(release.size, 'concept')} read, nothing was stored\n`)
}

export const loadRelease = async (flags: LoadFlags, index: TerminologyIndex, stdout: Output): Promise<void> => {
  const release = await read(flags, stdout)
  const { header, name, edition, size } = release
  const line = progressLine(stdout, systemClock)
  const label = nameOf(release)
  const batches = async function* (from: number) {
    if (from > 0) line.say(`going on behind ${counted(from * BATCH, 'concept')}`)
    let done = from * BATCH
    for await (const batch of release.concepts(from)) {
      yield batch
      done += batch.length
      line.step({ done, total: size, unit: 'concepts', label })
    }
    line.say(`${label}: putting the hierarchy together`)
  }
  try {
    await index.load({ source: 'load', name, edition, header }, batches, { isAlone: true })
    line.end(`${label}: ${counted(size, 'concept')} loaded`)
  } finally {
    line.end()
    release.close()
  }
}
