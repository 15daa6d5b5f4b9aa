/* global SwaggerUIBundle */
// Shows the OpenAPI document in Swagger UI. A separate file, because the content security policy forbids inline
// scripts.
const own = new URL('api/v1/', document.baseURI).href
const atRoot = new URL('/api/v1/', document.baseURI).href

globalThis.ui = SwaggerUIBundle({
  url: `${own}openapi.json`,
  // The document contains the server's path of the API; a proxy may have added a prefix.
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
  // The validator badge would be loaded from another site.
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
})
