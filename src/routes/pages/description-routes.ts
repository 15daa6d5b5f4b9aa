import * as api from '#api/descriptions'
import { type Binding, bind } from '#http/call'
import type { PageFiles } from '#routes/pages/page-files'
import { fileReply } from '#routes/pages/page-routes'

/** Where the build puts the two documents, below the folder of pages. */
export const openApiFile = 'description/openapi.json'
export const asyncApiFile = 'description/asyncapi.json'

/** Who answers with what can be called. As the build made them: making them takes longer than an answer may. */
export function descriptionRoutes(files: PageFiles): Binding[] {
  return [
    bind(api.readOpenApi, (call) => fileReply(call, files.get(openApiFile), 'no-cache')),
    bind(api.readAsyncApi, (call) => fileReply(call, files.get(asyncApiFile), 'no-cache')),
  ]
}
