import { z } from 'zod'
import { pageFields } from '#api/fields'
import { changeAnswer, defineRoute, errorAnswers, notModified } from '#api/route-entry'
import { exampleAuthorship } from '#api/state-shape'
import { ShortName } from '#model/identifier'
import { TemplateBody, TemplateEntry } from '#model/template'

/** Templates of mails that functions send. Contract 5.5. */

const template = z.object({ name: ShortName })
export const exampleTemplate = 'too-hot'
const body = {
  locales: {
    en: { subject: 'Too hot', text: '{{deviceIdentifier}}: {{value}}, was {{previous}}' },
    de: { subject: 'Zu warm', text: '{{deviceIdentifier}}: {{value}}, war {{previous}}' },
  },
}
const example = {
  name: exampleTemplate,
  ...body,
  resourceIdentifier: `crn#template:default/${exampleTemplate}`,
  ...exampleAuthorship,
}

export const listTemplates = defineRoute('listTemplates', {
  route: 'GET /templates',
  summary: 'List the templates of mails, by name',
  access: { resource: 'functions', action: 'read', within: 'list' },
  query: z.object(pageFields),
  answers: { 200: { description: 'Templates', schema: z.array(TemplateEntry) } },
  example: { answer: [example] },
})

export const readTemplate = defineRoute('readTemplate', {
  route: 'GET /templates/:name',
  summary: 'Read a template',
  access: { resource: 'functions', action: 'read', within: 'tenant' },
  parameters: template,
  answers: { 200: { description: 'The template', schema: TemplateEntry }, ...notModified },
  example: { parameters: { name: exampleTemplate }, answer: example },
})

export const putTemplate = defineRoute('putTemplate', {
  route: 'PUT /templates/:name',
  summary: 'Create or replace a template; needs create if there is none, otherwise update, for all devices',
  access: { resource: 'functions', action: 'update', mayCreate: true, within: 'tenant' },
  parameters: template,
  body: { schema: TemplateBody },
  answers: { 200: { description: 'The template', schema: changeAnswer(TemplateEntry) }, ...errorAnswers(409, 412) },
  example: { parameters: { name: exampleTemplate }, body, answer: example },
})

export const deleteTemplate = defineRoute('deleteTemplate', {
  route: 'DELETE /templates/:name',
  summary: 'Delete a template; its mails are no longer sent',
  access: { resource: 'functions', action: 'delete', within: 'tenant' },
  parameters: template,
  answers: { 204: { description: 'Deleted' }, ...errorAnswers(412) },
  example: { parameters: { name: exampleTemplate } },
})
