/* global SwaggerUIBundle */
// The OpenAPI document in Swagger UI. A file of its own: the policy of the pages lets nothing run that stands in them.
const own = new URL('api/v1/', document.baseURI).href
const atRoot = new URL('/api/v1/', document.baseURI).href

globalThis.ui = SwaggerUIBundle({
  url: `${own}openapi.json`,
  // The document says where the API is on the server; a proxy may have put it below a path of its own.
  requestInterceptor: (request) => {
    if (request.url.startsWith(atRoot)) request.url = own + request.url.slice(atRoot.length)
    return request
  },
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  // A badge would be asked for elsewhere.
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
})
