import type {
  IAuthenticateGeneric,
  ICredentialTestRequest,
  ICredentialType,
  Icon,
  INodeProperties,
} from 'n8n-workflow';

/** n8n credential type: base URL, domain and API key of a Carillon account (C1). */
export class CarillonApi implements ICredentialType {
  name = 'carillonApi';
  displayName = 'Carillon API';
  documentationUrl = 'https://www.npmjs.com/package/n8n-nodes-carillon';
  icon: Icon = { light: 'file:../nodes/parts/carillon.svg', dark: 'file:../nodes/parts/carillon.dark.svg' };
  properties: INodeProperties[] = [
    {
      displayName: 'Base URL',
      name: 'baseUrl',
      type: 'string',
      default: '',
      required: true,
      placeholder: 'https://calendar.example.com',
      description: 'The address of the service, exactly as its option --base-url says: notifications begin with it',
    },
    {
      displayName: 'Domain',
      name: 'domain',
      type: 'string',
      default: '',
      required: true,
      placeholder: 'acme.example',
      description: 'The host name of your account',
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      default: '',
      required: true,
      description:
        'Of one user. The triggers need hooks:read and hooks:write beside the permission to read the records.',
    },
  ];
  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { key: '={{$credentials.apiKey}}', domain: '={{$credentials.domain}}' } },
  };
  test: ICredentialTestRequest = {
    request: { baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}', url: '/v2/user' },
  };
}
