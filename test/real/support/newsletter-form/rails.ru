# A Rails application in one file, with the defaults of a new one. Beside it are `newsletter.rb`, `handler.rb` and `form.erb`.
require "rails"
require "action_controller/railtie"
require_relative "newsletter"

class News < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.eager_load = false
  config.secret_key_base = "a-secret" * 8
  config.hosts.clear
  config.logger = Logger.new($stderr)
  routes.append do
    root to: "newsletters#new"
    post "/newsletter", to: "newsletters#create"
  end
end

class ApplicationController < ActionController::Base
end

require_relative "handler"

class NewslettersController
  def new
    render inline: File.read(File.join(__dir__, "form.erb"))
  end
end

News.initialize!
run News
