/** Serves examples/ward-list: `npm run example:ward-list` on http://127.0.0.1:3001/. Any web server does. */
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'

const PORT = 3001

const FOLDER = new URL('../../examples/ward-list/', import.meta.url)
const FILES: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/live-query.js': ['live-query.js', 'text/javascript; charset=utf-8'],
}

export const createWardListServer = (): Server =>
  createServer(async (request, response) => {
    const [name, type] = FILES[new URL(request.url ?? '/', 'http://app').pathname] ?? []
    if (name === undefined || type === undefined) return void response.writeHead(404).end()
    const body = await readFile(new URL(name, FOLDER))
    response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
  })

if (import.meta.main) createWardListServer().listen(PORT, '127.0.0.1')
