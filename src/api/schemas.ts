import { z } from 'zod'
import { depthField, pageFields } from '#api/fields'
import { defineRoute, ErrorBody, errorAnswers, notModified } from '#api/route-entry'
import { exampleService } from '#api/state-shape'
import { ServiceIdentifier } from '#model/identifier'
import { ServiceSchema } from '#model/service-schema'

/** Schemas of services. §2.4, §4.2, contract 3.9. */

const SchemaEntry = z.object({ serviceIdentifier: ServiceIdentifier, schema: ServiceSchema.optional() })
const exampleSchema = {
  name: 'Climate',
  description: 'Temperature and humidity of a room',
  properties: {
    '0x2000': { name: 'temperature', description: 'Air temperature', type: 'float', unit: '°C', readonly: false },
  },
}
const example = { serviceIdentifier: exampleService, schema: exampleSchema }
const notFound = {
  description: 'The schema does not exist, or the caller may not read it.',
  schema: ErrorBody,
}

export const listSchemas = defineRoute('listSchemas', {
  route: 'GET /schemas',
  summary: 'List the schemas: identifiers, or whole schemas from depth 1',
  access: { resource: 'schemas', action: 'read', within: 'list' },
  hasPosition: true,
  query: z.object({ depth: depthField.optional(), ...pageFields }),
  answers: { 200: { description: 'Schemas', schema: z.array(SchemaEntry) }, ...notModified },
  example: { query: { depth: '1' }, answer: [example] },
})

export const readSchema = defineRoute('readSchema', {
  route: 'GET /schemas/:serviceIdentifier',
  summary: 'Read the schema of a service',
  access: { resource: 'schemas', action: 'read', within: 'service' },
  answers: { 200: { description: 'The schema', schema: SchemaEntry }, 404: notFound, ...notModified },
  example: { answer: example },
})

export const putSchema = defineRoute('putSchema', {
  route: 'PUT /schemas/:serviceIdentifier',
  summary: 'Create or replace the schema of a service; needs create if there is none, otherwise update',
  access: { resource: 'schemas', action: 'update', mayCreate: true, within: 'service' },
  body: { schema: ServiceSchema },
  answers: { 200: { description: 'The schema', schema: SchemaEntry }, 404: notFound, ...errorAnswers(412, 429) },
  example: { body: exampleSchema, answer: example },
})

export const deleteSchema = defineRoute('deleteSchema', {
  route: 'DELETE /schemas/:serviceIdentifier',
  summary: 'Delete the schema of a service',
  access: { resource: 'schemas', action: 'delete', within: 'service' },
  answers: { 204: { description: 'Deleted' }, 404: notFound, ...errorAnswers(412) },
})
