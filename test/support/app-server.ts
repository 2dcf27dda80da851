/**
 * Serves examples/smart-app with the library that it uses: `npm run example:smart-app` on http://127.0.0.1:3000/. Any web
 * server does.
 */
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'

const PORT = 3000

const PAGE = new URL('../../examples/smart-app/index.html', import.meta.url)
const LIBRARY = new URL(import.meta.resolve('fhirclient/build/fhir-client.pure.min.js'))

const FILES: Readonly<Record<string, readonly [file: URL, type: string]>> = {
  '/': [PAGE, 'text/html; charset=utf-8'],
  '/fhir-client.js': [LIBRARY, 'text/javascript; charset=utf-8'],
}

export const createAppServer = (): Server =>
  createServer(async (request, response) => {
    const [file, type] = FILES[new URL(request.url ?? '/', 'http://app').pathname] ?? []
    if (file === undefined || type === undefined) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(await readFile(file))
  })

if (import.meta.main) createAppServer().listen(PORT, '127.0.0.1')
