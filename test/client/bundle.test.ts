import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { buildScript } from '#test/client/browser-bundle'

test('the script for browsers is small and contains only the client', async () => {
  const chunks = await buildScript()
  const modules = chunks.flatMap((chunk) => Object.keys(chunk.modules)).map((path) => path.replace(projectRoot, ''))
  expect(
    modules.filter((path) => !/^\/?src\/(client\/[a-z0-9-]+|model\/(modifier|name-forms))\.ts$/.test(path)),
  ).toEqual([])
  expect(chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])).toEqual([])
  const code = chunks.map((chunk) => chunk.code).join('')
  expect(code).not.toMatch(/\b(Buffer|require)\b|\bprocess\b(?!\?\.getBuiltinModule)|node:/)
  const kilobytes = gzipSync(code).byteLength / 1024
  console.info(`the client is ${kilobytes.toFixed(1)} KB, packed`)
  expect(kilobytes).toBeLessThan(17)
})
