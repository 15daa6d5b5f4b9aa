import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { asyncApiDocument } from '#api/asyncapi'
import { chapters } from '#api/chapters'
import { about, documentText } from '#api/descriptions'
import { openApiDocument } from '#api/openapi'
import { clientMessages, deviceMessages, eventMessages, serverMessages, streamMessages } from '#api/socket-messages'
import { eventKinds } from '#model/event'
import { LongDeviceMessage } from '#test/kit/link-messages'

const root = fileURLToPath(new URL('../../', import.meta.url))
const openApi = openApiDocument() as unknown as OpenApi
const asyncApi = asyncApiDocument() as unknown as AsyncApi

type Media = { readonly schema?: object; readonly example?: unknown }
type Content = { readonly content?: Readonly<Record<string, Media>>; readonly $ref?: string }
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly $ref?: string; readonly schema?: object; readonly example?: unknown }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
interface AsyncApi {
  readonly channels: Readonly<Record<string, { readonly messages: Readonly<Record<string, AsyncMessage>> }>>
}
interface AsyncMessage {
  readonly payload: object
  readonly examples: readonly { readonly payload: unknown }[]
}

/** The names of the entries that the files of `src/api` export. */
const folder = join(root, 'src/api')
const modules = await Promise.all(
  readdirSync(folder).map(async (file) => (await import(join(folder, file))) as Record<string, unknown>),
)
const exported = modules.flatMap((module) => Object.keys(module).filter((name) => isEntry(module[name])))

function isEntry(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'method' in value && 'access' in value && 'example' in value
}

const operations = Object.values(openApi.paths).flatMap((methods) => Object.values(methods))
const advice = 'npm run build -- --description updates it'

test('the documents in docs/ are up to date', () => {
  expect(readFileSync(join(root, 'docs/openapi.json'), 'utf8') === documentText(openApi), advice).toBe(true)
  expect(readFileSync(join(root, 'docs/asyncapi.json'), 'utf8') === documentText(asyncApi), advice).toBe(true)
})

test('the documents have the version of the package', () => {
  expect(about.version).toBe(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version)
})

describe('OpenAPI', () => {
  test('is valid', async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(openApi)))
    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
  })

  test('has every entry once, in one chapter', () => {
    const names = chapters.flatMap((chapter) => chapter.entries.map(({ name }) => name)).toSorted()
    expect(names).toEqual(exported.toSorted())
    expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(names)
  })

  test('resolves every reference and uses every schema', () => {
    const text = JSON.stringify(openApi)
    const references = new Set([...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? ''))
    for (const path of references) expect(valueAt(openApi, path), path).toBeDefined()
    const { schemas } = valueAt(openApi, 'components') as { schemas: object }
    for (const name of Object.keys(schemas)) expect(references).toContain(`components/schemas/${name}`)
  })

  describe('has examples that match their schemas', () => {
    const check = validatorOf(new Ajv2020({ strict: false }), 'openapi', openApi)

    test.each(operations.map((operation) => [operation.operationId, operation] as const))('%s', (_, operation) => {
      for (const { schema, example } of operation.parameters ?? []) {
        if (schema && example !== undefined) expect(check(schema, example)).toEqual([])
      }
      for (const content of [operation.requestBody, ...Object.values(operation.responses)]) {
        for (const { schema, example } of Object.values(content?.content ?? {})) {
          if (schema && example !== undefined) expect(check(schema, example)).toEqual([])
        }
      }
    })
  })

  test('has schemas that refuse wrong bodies', () => {
    const check = validatorOf(new Ajv2020({ strict: false }), 'openapi', openApi)
    const bodyOf = (name: string) => {
      const body = operations.find(({ operationId }) => operationId === name)?.requestBody?.content
      return body?.['application/json']?.schema ?? {}
    }
    const wrong: [string, unknown][] = [
      ['createDevice', { deviceIdentifier: 'a/b' }],
      ['createDevice', { deviceIdentifier: 'PUMP-7', surprise: 1 }],
      ['createAlarm', { name: 'x', severity: 'loud', serviceIdentifier: 'a', condition: true }],
      ['createFunction', { name: 'x', enabled: true, binding: {}, graph: { nodes: [] } }],
      ['createFunction', { name: 'x', binding: {}, graph: { nodes: [{ id: 'a', type: 'fire' }], edges: [] } }],
      ['putRole', { grants: [{ permissions: { all: ['read'] }, devices: ['*'], services: ['*'] }] }],
      ['putRole', { grant: [] }],
      ['patchMeta', []],
      ['changePassword', { current: 'x', password: 'too short' }],
      ['putRollout', { firmware: '1', percent: 10 }],
      ['writeDeviceProperties', 7],
    ]
    for (const [name, body] of wrong) expect(check(bodyOf(name), body), name).not.toEqual([])
    expect(check(bodyOf('putRole'), { permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] })).toEqual([])
  })
})

describe('AsyncAPI', () => {
  test('is valid', () => {
    const path = join(root, 'node_modules/@asyncapi/specs/schemas/3.0.0-without-$id.json')
    const ajv = new Ajv({ strict: false })
    addFormats.default(ajv)
    const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')))
    expect([validate(asyncApi), validate.errors]).toEqual([true, null])
    expect(validate({ ...asyncApi, channels: { link: { address: 7 } } })).toBe(false)
  })

  test('resolves every reference', () => {
    const references = [...JSON.stringify(asyncApi).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path ?? '')
    expect(references.length).toBeGreaterThan(100)
    for (const path of references) expect(valueAt(asyncApi, path), path).toBeDefined()
  })

  test('has every event and every message of the device protocol', () => {
    const names = (messages: readonly { readonly name: string }[]) => messages.map(({ name }) => name)
    expect(names(eventMessages)).toEqual(Object.keys(eventKinds))
    const types = LongDeviceMessage.options.map((option) => option.shape.type.value)
    expect(
      names(deviceMessages)
        .filter((name) => name !== 'U')
        .toSorted(),
    ).toEqual(types.toSorted())
  })

  const messages = [...deviceMessages, ...serverMessages, ...eventMessages, ...streamMessages, ...clientMessages]
  test.each(messages.map((message) => [message.name, message] as const))(
    'the examples of %s match its schema',
    (_, message) => {
      expect(message.examples.length).toBeGreaterThan(0)
      for (const example of message.examples) expect(message.schema.safeParse(example).error).toBeUndefined()
      const type = (example: unknown) => (Array.isArray(example) ? example[0] : (example as { type: string }).type)
      expect(message.examples.map(type)).toEqual(message.examples.map(() => message.name))
    },
  )

  test('has examples that match the schemas of the document', () => {
    const ajv = new Ajv({ strict: false })
    addFormats.default(ajv)
    const check = validatorOf(ajv, 'asyncapi', asyncApi)
    for (const { messages: shown } of Object.values(asyncApi.channels)) {
      for (const { payload, examples = [] } of Object.values(shown)) {
        for (const example of examples) expect(check(payload, example.payload)).toEqual([])
      }
    }
  })
})

/** Returns a function that finds the errors of a value, by a schema whose references point into the document. */
function validatorOf(
  ajv: Ajv | Ajv2020,
  name: string,
  document: object,
): (schema: object, value: unknown) => unknown[] {
  ajv.addSchema(document, name)
  const compiled = new Map<string, ValidateFunction>()
  return (schema, value) => {
    const text = JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${name}#/`)
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text))
    compiled.set(text, validate)
    return validate(value) ? [] : (validate.errors ?? [])
  }
}

function valueAt(document: object, path: string): unknown {
  const parts = path.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  return parts.reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], document)
}
