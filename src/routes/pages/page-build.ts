import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { asyncApiDocument } from '#api/asyncapi'
import { documentText } from '#api/descriptions'
import { openApiDocument } from '#api/openapi'
import { compressFiles } from '#routes/pages/page-files'
import { asyncApiFile, openApiFile } from '#routes/pages/page-routes'
import { type AsyncDocument, apiPage, socketsPage } from '#routes/pages/viewer-pages'

/**
 * A separate build step: writes the API description and its viewer into the pages folder, and compresses all pages.
 * With `--description` it also writes the documents into `docs`. Unchanged files are not written again, so that they
 * are not compressed again.
 */

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const pages = join(root, 'dist/pages')
const viewer = join(root, 'src/routes/pages/viewer')

/** The files of Swagger UI that are served. */
const swaggerFiles = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'favicon-32x32.png',
  'LICENSE',
  'NOTICE',
]

async function make(isForDocs: boolean): Promise<void> {
  const openApi = openApiDocument()
  const asyncApi = asyncApiDocument()
  const swagger = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  const written = await Promise.all([
    write(join(pages, openApiFile), JSON.stringify(openApi)),
    write(join(pages, asyncApiFile), JSON.stringify(asyncApi)),
    write(join(pages, 'docs/index.html'), apiPage()),
    write(join(pages, 'docs/websockets.html'), socketsPage(asyncApi as unknown as AsyncDocument)),
    write(join(pages, 'docs/show-api.js'), await readFile(join(viewer, 'show-api.mjs'))),
    write(join(pages, 'docs/viewer.css'), await readFile(join(viewer, 'viewer.css'))),
    ...swaggerFiles.map(async (name) => write(join(pages, 'docs', name), await readFile(join(swagger, name)))),
  ])
  await removeOthers(join(pages, 'docs'), written)
  await compressFiles(pages)
  if (isForDocs) {
    await write(join(root, 'docs/openapi.json'), documentText(openApi))
    await write(join(root, 'docs/asyncapi.json'), documentText(asyncApi))
  }
}

async function write(path: string, content: string | Uint8Array): Promise<string> {
  const bytes = Buffer.from(content)
  const before = await readFile(path).catch(() => undefined)
  if (!before?.equals(bytes)) {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, bytes)
  }
  return path
}

/** Removes files of earlier builds. */
async function removeOthers(folder: string, current: readonly string[]): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    if (!current.some((file) => path.startsWith(file))) await rm(path, { recursive: true })
  }
}

await make(process.argv.includes('--description'))
