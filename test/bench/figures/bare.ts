/** Bare Fastify beside the server under test: told to answer with exactly what that one answered. */
import { get } from 'node:http'
import type { Bench } from '../bench.ts'
import type { House } from '../house.ts'
import type { Canned } from '../process/bare.ts'
import { startSubject } from '../process/subject.ts'

/** Fastify or Node sets these itself on both sides. */
const OWN = new Set(['date', 'connection', 'keep-alive', 'content-length'])

export const headersOf = (raw: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(raw).flatMap(([name, value]) =>
      OWN.has(name) || value === undefined ? [] : [[name, [value].flat().join(', ')]],
    ),
  )

/** Headers and body of a GET as the measured client sends it. */
const fetchCanned = (address: string, path: string): Promise<Canned> =>
  new Promise((resolve, reject) => {
    get(`${address}${path}`, { headers: { accept: 'application/fhir+json' } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({ path, headers: headersOf(response.headers), body: Buffer.concat(chunks).toString('utf8') }),
      )
    }).on('error', reject)
  })

export const startBare = async (
  bench: Bench,
  parts: { readonly canned?: readonly Canned[]; readonly created?: Readonly<Record<string, string>> },
): Promise<House> => {
  const subject = startSubject('bare', { cores: bench.cores })
  const { canned = [], created = {} } = parts
  const address = await subject.ask<string>('start', { canned, created })
  const { cpu, profile, stop } = subject
  return { address, cpu, profile, stop }
}

/** Bare Fastify with the answers the server gives to these reads. */
export const startBareReads = async (bench: Bench, address: string, paths: readonly string[]): Promise<House> => {
  const canned: Canned[] = []
  for (const path of paths) canned.push(await fetchCanned(address, path))
  return startBare(bench, { canned })
}
