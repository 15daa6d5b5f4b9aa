import type { ComponentType } from 'preact'
import type { Action, Resource } from '#model/scope'

/** The pages: their paths, the permissions they need, and how to load them. */

export interface PageProps {
  /** The decoded parameters of the path. */
  readonly params: { readonly [name in 'id' | 'project' | 'tab']?: string }
}

export interface Route {
  readonly path: string
  /** The label in the navigation, and in lower case its icon; a page without a name is reached from other pages. */
  readonly name?: string
  /** The page is offered to users with any of these permissions; a resource alone means read. */
  readonly needs?: Resource | readonly (Resource | readonly [Resource, Action])[]
  readonly load: () => Promise<{ readonly default: ComponentType<PageProps> }>
}

export const routes: readonly Route[] = [
  { path: '/', name: 'Fleet', needs: 'service', load: () => import('#dashboard/pages/fleet/page') },
  { path: '/devices/:id', needs: 'service', load: () => import('#dashboard/pages/device/page') },
  { path: '/alarms', name: 'Alarms', needs: 'alarms', load: () => import('#dashboard/pages/alarms/page') },
  { path: '/alarms/:id', needs: 'alarms', load: () => import('#dashboard/pages/alarms/alarm-page') },
  { path: '/functions', name: 'Functions', needs: 'functions', load: loadList('FunctionsPage') },
  { path: '/functions/templates', needs: 'functions', load: loadList('TemplatesPage') },
  {
    path: '/functions/templates/:id',
    needs: 'functions',
    load: () => import('#dashboard/pages/functions/template-page'),
  },
  { path: '/functions/groups', needs: 'functions', load: loadList('GroupsPage') },
  { path: '/functions/groups/:id', needs: 'functions', load: () => import('#dashboard/pages/functions/group-page') },
  { path: '/functions/:id', needs: 'functions', load: () => import('#dashboard/pages/functions/function-page') },
  {
    path: '/notifications',
    name: 'Notifications',
    needs: 'notifications',
    load: () => import('#dashboard/pages/notifications/page'),
  },
  { path: '/firmware', name: 'Firmware', needs: 'updates', load: () => import('#dashboard/pages/firmware/page') },
  { path: '/firmware/:project', needs: 'updates', load: () => import('#dashboard/pages/firmware/project-page') },
  {
    path: '/administration/:tab?',
    name: 'Administration',
    needs: [
      'users',
      'roles',
      'tenants',
      'audit',
      // For provisioning keys.
      ['device', 'create'],
    ],
    load: () => import('#dashboard/pages/administration/page'),
  },
  { path: '/account', load: () => import('#dashboard/pages/account/page') },
]

function loadList(name: 'FunctionsPage' | 'TemplatesPage' | 'GroupsPage'): Route['load'] {
  return async () => ({ default: (await import('#dashboard/pages/functions/lists'))[name] })
}
